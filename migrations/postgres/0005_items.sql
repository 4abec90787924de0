-- State logs: business items that are not to be processed twice. What counts of each now, and all that became of it.

create table items (
    scope        smallint not null check (scope between 1 and 5),
    place        text collate "C" not null,
    entity       text collate "C" not null,
    item         text collate "C" not null,
    status       text not null default 'none'
                 check (status in ('none', 'processing', 'processed', 'superseded', 'failed', 'skipped', 'expired')),
    data         json,
    reason       text,
    task         bigint,
    attempt      bigint,
    token        text collate "C",
    seq          bigint,
    locked_until timestamptz check ((locked_until is not null) = (status = 'processing')),
    changed_at   timestamptz not null,
    expires_at   timestamptz check (expires_at is null or status in ('processed', 'failed', 'skipped')),
    primary key (scope, place, entity, item)
) with (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

comment on table items is 'What counts of each business item now, in the state log that it is in.';

-- Each is as large as there are locks, and items that are forgotten some day.
-- Not by the status: else it would be walked through for the locks of one task, too.
create index items_locked on items (locked_until) where locked_until is not null;
create index items_of_task on items (task) where status = 'processing';
create index items_expiring on items (expires_at) where expires_at is not null;

create table item_changes (
    id      bigint generated always as identity primary key,
    scope   smallint not null,
    place   text collate "C" not null,
    entity  text collate "C" not null,
    item    text collate "C" not null,
    at      timestamptz not null,
    status  text not null
            check (status in ('processing', 'processed', 'superseded', 'failed', 'skipped', 'expired')),
    data    json,
    reason  text,
    token   text collate "C",
    seq     bigint,
    task    bigint,
    attempt bigint
);

comment on table item_changes is 'All that became of each business item, and by which token. Rows are only added.';

create index item_changes_of_item on item_changes (scope, place, entity, item, id);
create index item_changes_of_token on item_changes (token, seq);

alter table tasks add column has_items boolean not null default false;

alter table ledger drop constraint ledger_kind_check;
alter table ledger add constraint ledger_kind_check check (kind in (
    'started', 'event_accepted', 'event_rejected', 'event_deferred', 'event_replayed', 'event_dropped',
    'entered', 'branch_started', 'context_changed', 'note', 'memory_set', 'memory_deleted',
    'task_queued', 'task_claimed', 'task_waiting', 'task_resumed', 'task_done', 'task_cancelled', 'task_failed',
    'task_retrying', 'timer_set', 'timer_fired', 'paused', 'resumed', 'completed', 'failed',
    'cancelled', 'step_done', 'step_faulted', 'response_awaited', 'response_received', 'child_awaited',
    'flow_failed', 'item_acquired', 'item_processed', 'item_failed', 'item_skipped')) not valid;
