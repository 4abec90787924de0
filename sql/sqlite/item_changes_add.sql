-- Adds what became of items, in the order of the rows. It answers no rows.
insert into item_changes (scope, place, entity, item, at, status, data, reason, token, seq, task, attempt)
select r.value ->> 'scope', r.value ->> 'place', r.value ->> 'entity', r.value ->> 'item', r.value ->> 'changed_at',
       r.value ->> 'status', r.value ->> 'data', r.value ->> 'reason', r.value ->> 'token', r.value ->> 'seq',
       r.value ->> 'task', r.value ->> 'attempt'
from json_each(:rows) as r where true
order by r.key
