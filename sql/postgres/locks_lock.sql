-- Locks the items that these tasks have locked, in the order of their keys, and skips those that others hold.
select i.scope, i.place, i.entity, i.item
from items i
where i.task = any(:tasks::bigint[]) and i.status = 'processing'
order by i.scope, i.place, i.entity, i.item
for no key update skip locked
