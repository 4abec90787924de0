-- Flows: what a routine has done of its work for one visit, step by step, so that a later attempt goes on from there.

create table flows (
    task           bigint not null primary key,
    token          text collate "C" not null,
    schema_version integer not null,
    revision       bigint not null check (revision >= 0),
    input          json not null,
    last_message   text,
    message_at     timestamptz check ((message_at is null) = (last_message is null)),
    created_at     timestamptz not null,
    updated_at     timestamptz not null,
    step_count     bigint not null check (step_count >= 0),
    size           bigint not null check (size >= 0)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

comment on table flows is 'How far a routine got with a task: one row from its first step on; `revision` counts what was written, `size` the bytes of its steps.';

create table steps (
    task         bigint not null,
    name         text collate "C" not null,
    seq          bigint not null check (seq > 0),
    kind         text not null check (kind in ('step', 'response', 'child')),
    status       text not null check (status in ('open', 'done', 'faulted')),
    result       json check ((result is not null) = (status = 'done')),
    correlation  text collate "C" check (correlation is null or (kind = 'response' and status = 'open')),
    answered     text collate "C",
    message      text,
    child        text collate "C",
    on_lost      text check (on_lost in ('resume', 'fail', 'keep')),
    attempt      bigint not null check (attempt > 0),
    revision     bigint not null check (revision >= seq),
    opened_at    timestamptz not null,
    completed_at timestamptz check ((completed_at is not null) = (status = 'done')),
    fault        text check (fault is null or (status = 'faulted' and fault in ('failed', 'deadline'))),
    failures     bigint check ((failures is null) = (fault is null)),
    workflow     text,
    input_hash   text,
    fail_on_failure boolean,
    -- What a child was begun with belongs to its step for ever.
    check ((kind = 'child') = (child is not null and workflow is not null and input_hash is not null
                               and fail_on_failure is not null)),
    primary key (task, name)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

comment on table steps is 'One row for each step of a flow: what it came to, or which response it waits for.';

create unique index steps_by_correlation on steps (correlation) where correlation is not null;
create unique index steps_by_answered on steps (answered) where answered is not null;
create unique index steps_by_child on steps (child) where child is not null;
-- At most one step of a flow is open; it is found without a look at those that are done.
create index steps_open on steps (task) where status = 'open';

-- Tasks of before await nothing: they need not be read while everybody waits for the lock.
alter table tasks add column awaiting json;
alter table tasks add constraint tasks_awaiting_check check (awaiting is null or status = 'waiting') not valid;

alter table tokens add column child text collate "C", add column child_task bigint;
alter table tokens add constraint tokens_child_check check ((child is null) = (child_task is null)) not valid;

comment on column tokens.child is 'The live child token that the routine of the task `child_task` began and awaits.';

alter table timers add column step text;
alter table timers drop constraint timers_kind_check;
-- What is there already is of fewer kinds: it need not be read while everybody waits for the lock.
alter table timers add constraint timers_kind_check check (kind in ('timeout', 'timer', 'deadline')) not valid;
alter table timers add constraint timers_step_check check ((step is not null) = (kind = 'deadline')) not valid;

alter table ledger drop constraint ledger_kind_check;
alter table ledger add constraint ledger_kind_check check (kind in (
    'started', 'event_accepted', 'event_rejected', 'event_deferred', 'event_replayed', 'event_dropped',
    'entered', 'branch_started', 'context_changed', 'note', 'memory_set', 'memory_deleted',
    'task_queued', 'task_claimed', 'task_waiting', 'task_resumed', 'task_done', 'task_cancelled', 'task_failed',
    'task_retrying', 'timer_set', 'timer_fired', 'paused', 'resumed', 'completed', 'failed',
    'cancelled', 'step_done', 'step_faulted', 'response_awaited', 'response_received', 'child_awaited',
    'flow_failed')) not valid;
