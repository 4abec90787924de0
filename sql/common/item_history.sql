-- Reads the last changes of an item, the last first, in the columns of an item. Zero rows: nothing is known of it.
select i.scope, i.place, i.entity, i.item, i.status, cast(i.data as text) as data, i.reason, i.task, i.attempt, i.token, i.seq,
       null as locked_until, i.at as changed_at, null as expires_at
from item_changes i
where i.scope = :scope and i.place = :place and i.entity = :entity and i.item = :item
order by i.id desc
limit :limit
