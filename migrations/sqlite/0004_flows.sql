-- Flows, as on Postgres. A check cannot be changed here: the tables that have one are made anew and filled again.

create table flows (
    task           integer not null primary key,
    token          text not null,
    schema_version integer not null,
    revision       integer not null check (revision >= 0),
    input          text not null,
    last_message   text,
    message_at     text check ((message_at is null) = (last_message is null)),
    created_at     text not null,
    updated_at     text not null,
    step_count     integer not null check (step_count >= 0),
    size           integer not null check (size >= 0)
) strict;

create table steps (
    task         integer not null,
    name         text not null,
    seq          integer not null check (seq > 0),
    kind         text not null check (kind in ('step', 'response', 'child')),
    status       text not null check (status in ('open', 'done', 'faulted')),
    result       text check ((result is not null) = (status = 'done')),
    correlation  text check (correlation is null or (kind = 'response' and status = 'open')),
    answered     text,
    message      text,
    child        text,
    on_lost      text check (on_lost in ('resume', 'fail', 'keep')),
    attempt      integer not null check (attempt > 0),
    revision     integer not null check (revision >= seq),
    opened_at    text not null,
    completed_at text check ((completed_at is not null) = (status = 'done')),
    fault        text check (fault is null or (status = 'faulted' and fault in ('failed', 'deadline'))),
    failures     integer check ((failures is null) = (fault is null)),
    workflow     text,
    input_hash   text,
    fail_on_failure integer check (fail_on_failure in (0, 1)),
    check ((kind = 'child') = (child is not null and workflow is not null and input_hash is not null
                               and fail_on_failure is not null)),
    primary key (task, name)
) strict;

create unique index steps_by_correlation on steps (correlation) where correlation is not null;
create unique index steps_by_answered on steps (answered) where answered is not null;
create unique index steps_by_child on steps (child) where child is not null;
create index steps_open on steps (task) where status = 'open';

alter table tasks add column awaiting text check (awaiting is null or status = 'waiting');

alter table tokens add column child text;
alter table tokens add column child_task integer check ((child is null) = (child_task is null));

create table timers_new (
    id      integer not null primary key,
    token   text not null,
    state   text not null,
    visit   integer not null,
    event   text not null,
    payload text,
    kind    text not null check (kind in ('timeout', 'timer', 'deadline')),
    status  text not null check (status in ('pending', 'fired', 'cancelled')),
    parked  integer not null default 0 check (parked in (0, 1) and (not parked or status = 'pending')),
    set_at  text not null,
    due_at  text not null,
    step    text check ((step is not null) = (kind = 'deadline'))
) strict;

insert into timers_new (id, token, state, visit, event, payload, kind, status, parked, set_at, due_at)
select id, token, state, visit, event, payload, kind, status, parked, set_at, due_at from timers;

drop table timers;
alter table timers_new rename to timers;

create index timers_of_token on timers (token) where status = 'pending';
create index timers_due on timers (due_at, id) where status = 'pending' and not parked;

create table ledger_new (
    token text not null,
    seq   integer not null check (seq > 0),
    at    text not null,
    kind  text not null check (kind in (
        'started', 'event_accepted', 'event_rejected', 'event_deferred', 'event_replayed', 'event_dropped',
        'entered', 'branch_started', 'context_changed', 'note', 'memory_set', 'memory_deleted',
        'task_queued', 'task_claimed', 'task_waiting', 'task_resumed', 'task_done', 'task_cancelled', 'task_failed',
        'task_retrying', 'timer_set', 'timer_fired', 'paused', 'resumed', 'completed', 'failed',
        'cancelled', 'step_done', 'step_faulted', 'response_awaited', 'response_received', 'child_awaited',
        'flow_failed')),
    key   text,
    data  text not null,
    primary key (token, seq)
) strict, without rowid;

insert into ledger_new (token, seq, at, kind, key, data) select token, seq, at, kind, key, data from ledger;

drop table ledger;
alter table ledger_new rename to ledger;

create unique index ledger_by_key on ledger (token, key) where key is not null;

create trigger ledger_keeps_rows before delete on ledger
begin
    select raise(abort, 'the ledger is append-only');
end;

create trigger ledger_keeps_values before update on ledger
begin
    select raise(abort, 'the ledger is append-only');
end;
