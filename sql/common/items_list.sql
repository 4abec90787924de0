-- Lists items in the order of their keys, after a key. Zero rows: there are no more such items.
select i.scope, i.place, i.entity, i.item, i.status, cast(i.data as text) as data, i.reason, i.task, i.attempt, i.token, i.seq,
       i.locked_until, i.changed_at, i.expires_at
from items i
where (cast(:scope as integer) is null or i.scope = cast(:scope as integer))
    and (cast(:place as text) is null or i.place = cast(:place as text))
    and (cast(:entity as text) is null or i.entity = cast(:entity as text))
    and (cast(:item as text) is null or i.item = cast(:item as text))
    and (cast(:status as text) is null or i.status = cast(:status as text))
    and (i.scope, i.place, i.entity, i.item) > (:after_scope, :after_place, :after_entity, :after_item)
    and i.status <> 'none'
order by i.scope, i.place, i.entity, i.item
limit :limit
