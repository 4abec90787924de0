-- The inbox: what programs ask for in transactions of their own, by the functions `start` and `fire` (sql/functions).

create table inbox (
    id         bigint generated always as identity primary key,
    kind       text not null check (kind in ('start', 'fire')),
    token      text collate "C" not null,
    event      text check ((event is not null) = (kind = 'fire')),
    document   json,
    key        text check (key is null or kind = 'fire'),
    status     text not null default 'pending' check (status in ('pending', 'applied', 'refused')),
    duplicate  boolean not null default false check (not duplicate or status = 'applied'),
    code       text check ((code is not null) = (status = 'refused')),
    error      text check ((error is not null) = (status = 'refused')),
    asked_at   timestamptz not null default clock_timestamp(),
    settled_at timestamptz check ((settled_at is not null) = (status <> 'pending'))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

comment on table inbox is
    'What programs ask for by SQL; a row is applied or refused in the transaction that has the effects.';

-- What is settled stays, so both are partial: they have no more entries than rows that wait.
create index inbox_pending on inbox (id) where status = 'pending';
-- Only the beginning: an id of any length may be asked for, and an index takes no more than 2,700 bytes.
create index inbox_of_token on inbox (lower(left(token, 200)), id) where status = 'pending';

-- Tells the control planes of this schema that there is something. Always the same text, so that a transaction
-- with a thousand rows tells it once.
create function inbox_tells() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform pg_notify(
        'stateous_' || left(encode(sha256(convert_to(tg_table_schema, 'UTF8')), 'hex'), 16), 'inbox');
    return null;
end
$$;

create trigger inbox_tells after insert on inbox for each statement execute function inbox_tells();
