-- All that became of each business item: ask for one token, or for one item.
create view :"views".item_changes as
select i.id, case i.scope when 1 then 'tenant' when 2 then 'app' when 3 then 'workflow' when 4 then 'element' else 'execution' end as scope,
       i.place, i.entity, i.item, i.at, i.status, i.data, i.reason, i.token, i.seq, i.task, i.attempt
from item_changes i;

comment on view :"views".item_changes is 'All that became of business items, and which token did it.';
comment on column :"views".item_changes.id is 'Counts up: the order of an item''s changes.';
comment on column :"views".item_changes.scope is 'Who shares the item: tenant, app, workflow, element or execution.';
comment on column :"views".item_changes.place is 'Where it is in the scope: for an element, its state.';
comment on column :"views".item_changes.entity is 'What the item is of, such as invoice.';
comment on column :"views".item_changes.item is 'The item.';
comment on column :"views".item_changes.at is 'When it happened.';
comment on column :"views".item_changes.status is 'What became of it: processing, processed, superseded, failed, skipped or expired.';
comment on column :"views".item_changes.data is 'What was kept when it was done, as JSON.';
comment on column :"views".item_changes.reason is 'Why it failed or is skipped.';
comment on column :"views".item_changes.token is 'The token that did it; null: nobody''s.';
comment on column :"views".item_changes.seq is 'The number of the entry in that token''s ledger; null: it has none.';
comment on column :"views".item_changes.task is 'The task that did it.';
comment on column :"views".item_changes.attempt is 'Which try of the task.';
