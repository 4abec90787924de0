-- Who asks for work: written down by the control plane now and then, for people who look, and for no decision.

create table supervisors (
    name         text collate "C" not null primary key,
    states       text[] not null,
    last_seen_at timestamptz not null
) with (fillfactor = 70, autovacuum_vacuum_threshold = 1000);

comment on table supervisors is 'Supervisors that asked for tasks or held some, and when they were seen last.';

-- What people look for in all tokens at once. Hardly an entry is of these kinds, so that it costs the others nothing.
create index ledger_failures on ledger (kind, at) where kind in ('failed', 'task_failed');
