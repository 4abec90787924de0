-- What counts of each business item now: ask by scope, place, entity and item.
create view :"views".items as
select case i.scope when 1 then 'tenant' when 2 then 'app' when 3 then 'workflow' when 4 then 'element' else 'execution' end as scope,
       i.place, i.entity, i.item, i.status, i.data, i.reason, i.token, i.seq, i.task, i.attempt, i.locked_until,
       i.changed_at, i.expires_at
from items i
where i.status <> 'none';

comment on view :"views".items is 'What counts of each business item now, in the state log that it is in.';
comment on column :"views".items.scope is 'Who shares the item: tenant, app, workflow, element or execution.';
comment on column :"views".items.place is 'Where it is in the scope: for an element, its state.';
comment on column :"views".items.entity is 'What the item is of, such as invoice.';
comment on column :"views".items.item is 'The item.';
comment on column :"views".items.status is 'processing, processed, failed, skipped or expired.';
comment on column :"views".items.data is 'What was kept when it was done, as JSON.';
comment on column :"views".items.reason is 'Why it failed or is skipped.';
comment on column :"views".items.token is 'The token that changed it last.';
comment on column :"views".items.seq is 'The number of the entry in that token''s ledger; null: it has none.';
comment on column :"views".items.task is 'The task that changed it last.';
comment on column :"views".items.attempt is 'Which try of the task.';
comment on column :"views".items.locked_until is 'Until when it may be worked on, while it is processing.';
comment on column :"views".items.changed_at is 'When it changed last.';
comment on column :"views".items.expires_at is 'When what became of it is forgotten; null: never.';
