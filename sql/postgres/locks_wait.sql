-- As locks_lock, but waits for who holds them. Only for a batch of one command that holds none.
select i.scope, i.place, i.entity, i.item
from items i
where i.task = any(:tasks::bigint[]) and i.status = 'processing'
order by i.scope, i.place, i.entity, i.item
for no key update
