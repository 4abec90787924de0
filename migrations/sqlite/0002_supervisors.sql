-- Who asks for work, as on Postgres; the states are a JSON list. There are no views for people here.

create table supervisors (
    name         text not null primary key,
    states       text not null,
    last_seen_at text not null
) strict, without rowid;
