-- The first schema, as on Postgres: strict tables, times as UTC text with microseconds, JSON as text.
-- Advisory locks and sequences are rows here: `control_plane.held_until` lapses, `ids.next` counts.

create table tokens (
    token         text not null primary key,
    root          text not null,
    parent        text,
    workflow      text not null,
    state         text not null,
    status        text not null check (status in ('active', 'paused', 'completed', 'failed', 'cancelled')),
    visit         integer not null check (visit >= 0),
    seq           integer not null check (seq >= 0),
    context       text not null,
    counts        text not null,
    visits        text not null,
    entered_by    text,
    task          integer,
    children_open integer not null default 0 check (children_open >= 0),
    held_count    integer not null default 0 check (held_count >= 0),
    ambient       text,
    created_at    text not null,
    entered_at    text not null,
    changed_at    text not null,
    paused_at     text
) strict;

create unique index tokens_by_lower_id on tokens (lower(token));
create index tokens_by_entry on tokens (status, entered_at desc, token);
create index tokens_by_parent on tokens (parent) where parent is not null;

create table ledger (
    token text not null,
    seq   integer not null check (seq > 0),
    at    text not null,
    kind  text not null check (kind in (
        'started', 'event_accepted', 'event_rejected', 'event_deferred', 'event_replayed', 'event_dropped',
        'entered', 'branch_started', 'context_changed', 'note', 'memory_set', 'memory_deleted',
        'task_queued', 'task_claimed', 'task_waiting', 'task_done', 'task_cancelled', 'task_failed',
        'task_retrying', 'timer_set', 'timer_fired', 'paused', 'resumed', 'completed', 'failed',
        'cancelled')),
    key   text,
    data  text not null,
    primary key (token, seq)
) strict, without rowid;

create unique index ledger_by_key on ledger (token, key) where key is not null;

create trigger ledger_keeps_rows before delete on ledger
begin
    select raise(abort, 'the ledger is append-only');
end;

create trigger ledger_keeps_values before update on ledger
begin
    select raise(abort, 'the ledger is append-only');
end;

create table tasks (
    id          integer not null primary key,
    token       text not null,
    queue       text not null,
    state       text not null,
    visit       integer not null,
    status      text not null
                check (status in ('queued', 'claimed', 'waiting', 'done', 'cancelled', 'failed')),
    parked      integer not null default 0 check (parked in (0, 1) and (not parked or status = 'queued')),
    attempt     integer not null default 0 check (attempt >= 0),
    failures    integer not null default 0 check (failures >= 0),
    claimed_by  text,
    lease_until text,
    queued_at   text not null
) strict;

create index tasks_ready on tasks (queue, id) where status = 'queued' and not parked;
create index tasks_claimed on tasks (id) where status = 'claimed';

create table timers (
    id      integer not null primary key,
    token   text not null,
    state   text not null,
    visit   integer not null,
    event   text not null,
    payload text,
    kind    text not null check (kind in ('timeout', 'timer')),
    status  text not null check (status in ('pending', 'fired', 'cancelled')),
    parked  integer not null default 0 check (parked in (0, 1) and (not parked or status = 'pending')),
    set_at  text not null,
    due_at  text not null
) strict;

create index timers_of_token on timers (token) where status = 'pending';
create index timers_due on timers (due_at, id) where status = 'pending' and not parked;

create table held (
    root      text not null,
    arrival   integer not null check (arrival > 0),
    token     text not null,
    event     text not null,
    payload   text,
    key       text,
    task      integer,
    state     text,
    visit     integer,
    context   text,
    schedules text not null,
    primary key (root, arrival)
) strict, without rowid;

create table memory (
    token text not null,
    state text not null,
    key   text not null,
    value text not null,
    primary key (token, state, key)
) strict, without rowid;

create table claims (
    supervisor text not null primary key,
    request    text not null,
    grants     text not null
) strict, without rowid;

create table control_plane (
    one       integer not null primary key default 1 check (one = 1),
    structure text not null default '',
    checksum  text not null default '',
    graph     text,
    epoch     integer not null default 0,
    serving   text not null default '',
    since     text,
    clock     text,
    held_until text
) strict;

insert into control_plane default values;

create table ids (
    one  integer not null primary key default 1 check (one = 1),
    next integer not null
) strict;

insert into ids (next) values (1);
