-- The first schema: tokens, their ledger, tasks, timers, held events, memory, claims, and who serves.
-- It runs with `search_path` set to Stateous's own schema. Hot tables have no foreign keys to tokens:
-- each would take a lock of its own on the token's row. What belongs together changes in one transaction.

create table tokens (
    token         text collate "C" not null primary key,
    root          text collate "C" not null,
    parent        text collate "C",
    workflow      text not null,
    state         text not null,
    status        text not null check (status in ('active', 'paused', 'completed', 'failed', 'cancelled')),
    visit         bigint not null check (visit >= 0),
    seq           bigint not null check (seq >= 0),
    context       json not null,
    counts        json not null,
    visits        json not null,
    entered_by    json,
    task          bigint,
    children_open bigint not null default 0 check (children_open >= 0),
    held_count    bigint not null default 0 check (held_count >= 0),
    ambient       json,
    created_at    timestamptz not null,
    entered_at    timestamptz not null,
    changed_at    timestamptz not null,
    paused_at     timestamptz
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

comment on table tokens is 'One run of a workflow per row; `task` is its one open task, `root` its top token.';

-- Ids that differ only in case are one id to a person.
create unique index tokens_by_lower_id on tokens (lower(token));
-- Listings: one status is one range; all of them are five ranges, merged.
create index tokens_by_entry on tokens (status, entered_at desc, token);
create index tokens_by_parent on tokens (parent) where parent is not null;

create table ledger (
    token text collate "C" not null,
    seq   bigint not null check (seq > 0),
    at    timestamptz not null,
    kind  text not null check (kind in (
        'started', 'event_accepted', 'event_rejected', 'event_deferred', 'event_replayed', 'event_dropped',
        'entered', 'branch_started', 'context_changed', 'note', 'memory_set', 'memory_deleted',
        'task_queued', 'task_claimed', 'task_waiting', 'task_done', 'task_cancelled', 'task_failed',
        'task_retrying', 'timer_set', 'timer_fired', 'paused', 'resumed', 'completed', 'failed',
        'cancelled')),
    key   text,
    data  json not null,
    primary key (token, seq)
) with (autovacuum_vacuum_insert_scale_factor = 0.05);

comment on table ledger is 'The append-only history of every token, numbered 1, 2, 3 without a gap.';

create unique index ledger_by_key on ledger (token, key) where key is not null;

create function ledger_keeps() returns trigger language plpgsql as $$
begin
    if coalesce(current_setting('stateous.erase', true), '') <> 'on' then
        raise exception 'the ledger is append-only' using errcode = 'ST003';
    end if;
    return null;
end
$$;

create trigger ledger_keeps before update or delete or truncate on ledger
    for each statement execute function ledger_keeps();

create table tasks (
    id          bigint not null primary key,
    token       text collate "C" not null,
    queue       text not null,
    state       text not null,
    visit       bigint not null,
    status      text not null
                check (status in ('queued', 'claimed', 'waiting', 'done', 'cancelled', 'failed')),
    parked      boolean not null default false check (not parked or status = 'queued'),
    attempt     bigint not null default 0 check (attempt >= 0),
    failures    bigint not null default 0 check (failures >= 0),
    claimed_by  text,
    lease_until timestamptz,
    queued_at   timestamptz not null
) with (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

comment on table tasks is '"Do the work of this state for this token", one per visit; `attempt` is the fence.';

-- Ended tasks stay, so every index but the primary key is partial. `lease_until` is in none of them,
-- so that a heartbeat rewrites the row in its own page.
create index tasks_ready on tasks (queue, id) where status = 'queued' and not parked;
create index tasks_claimed on tasks (id) where status = 'claimed';

create table timers (
    id     bigint not null primary key,
    token  text collate "C" not null,
    state  text not null,
    visit  bigint not null,
    event  text not null,
    payload json,
    kind   text not null check (kind in ('timeout', 'timer')),
    status text not null check (status in ('pending', 'fired', 'cancelled')),
    parked boolean not null default false check (not parked or status = 'pending'),
    set_at timestamptz not null,
    due_at timestamptz not null
) with (fillfactor = 80);

comment on table timers is 'An event that the clock fires later: the timeout of a state, or a routine''s timer.';

create index timers_of_token on timers (token) where status = 'pending';
create index timers_due on timers (due_at, id) where status = 'pending' and not parked;

create table held (
    root      text collate "C" not null,
    arrival   bigint not null check (arrival > 0),
    token     text collate "C" not null,
    event     text not null,
    payload   json,
    key       text,
    task      bigint,
    state     text,
    visit     bigint,
    context   json,
    schedules json not null,
    primary key (root, arrival)
);

comment on table held is 'Events that arrived while their family was paused, in order of arrival.';

create table memory (
    token text collate "C" not null,
    state text not null,
    key   text not null,
    value json not null,
    primary key (token, state, key)
);

comment on table memory is 'What the routines of a token remember, by state and key.';

create table claims (
    supervisor text not null primary key,
    request    text not null,
    grants     json not null
);

comment on table claims is 'The last claim of each supervisor that carried a request id: pairs of task and attempt.';

create table control_plane (
    one       boolean not null primary key default true check (one),
    structure text not null default '',
    checksum  text not null default '',
    graph     json,
    epoch     bigint not null default 0,
    serving   text not null default '',
    since     timestamptz,
    clock     timestamptz
);

comment on table control_plane is 'One row: the graph on record, and the epoch that fences writers.';

insert into control_plane default values;

-- Task and timer ids come from here. Gaps are normal.
create sequence ids;

-- Stops the transaction when a write met fewer rows than it asked for, before the COMMIT that is
-- already on its way behind it.
create function confirmed(asked bigint, written bigint) returns bigint language plpgsql as $$
begin
    if asked <> written then
        raise exception 'only % of % rows were as they had been read', written, asked
            using errcode = 'ST001';
    end if;
    return written;
end
$$;
