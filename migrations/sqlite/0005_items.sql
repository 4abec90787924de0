-- State logs, as on Postgres.

create table items (
    scope        integer not null check (scope between 1 and 5),
    place        text not null,
    entity       text not null,
    item         text not null,
    status       text not null default 'none'
                 check (status in ('none', 'processing', 'processed', 'superseded', 'failed', 'skipped', 'expired')),
    data         text,
    reason       text,
    task         integer,
    attempt      integer,
    token        text,
    seq          integer,
    locked_until text check ((locked_until is not null) = (status = 'processing')),
    changed_at   text not null,
    expires_at   text check (expires_at is null or status in ('processed', 'failed', 'skipped')),
    primary key (scope, place, entity, item)
) strict;

create index items_locked on items (locked_until) where locked_until is not null;
create index items_of_task on items (task) where status = 'processing';
create index items_expiring on items (expires_at) where expires_at is not null;

create table item_changes (
    id      integer not null primary key,
    scope   integer not null,
    place   text not null,
    entity  text not null,
    item    text not null,
    at      text not null,
    status  text not null
            check (status in ('processing', 'processed', 'superseded', 'failed', 'skipped', 'expired')),
    data    text,
    reason  text,
    token   text,
    seq     integer,
    task    integer,
    attempt integer
) strict;

create index item_changes_of_item on item_changes (scope, place, entity, item, id);
create index item_changes_of_token on item_changes (token, seq);

alter table tasks add column has_items integer not null default 0 check (has_items in (0, 1));

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
        'flow_failed', 'item_acquired', 'item_processed', 'item_failed', 'item_skipped')),
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
