-- As items_list, of the items that a token changed: found by its changes, and not by walking through all items.
select scope, place, entity, item, status, case when size <= 4000000 then cast(data as text) end as data, reason, task,
       attempt, token, seq, locked_until, changed_at, expires_at, data is not null and size > 4000000 as left_out
from (
    select page.*, sum(length(cast(page.data as text))) over (order by page.scope, page.place, page.entity, page.item) as size
    from (
        select i.scope, i.place, i.entity, i.item, i.status, i.data, i.reason, i.task, i.attempt, i.token, i.seq,
               i.locked_until, i.changed_at, i.expires_at
        from (select distinct c.scope, c.place, c.entity, c.item from item_changes c where c.token = :token) d
        cross join lateral (
            select n.scope, n.place, n.entity, n.item, n.status, n.data, n.reason, n.task, n.attempt, n.token,
                   n.seq, n.locked_until, n.changed_at, n.expires_at
            from items n
            where n.scope = d.scope and n.place = d.place and n.entity = d.entity and n.item = d.item
            limit 1
        ) i
        where (cast(:scope as integer) is null or i.scope = cast(:scope as integer))
            and (cast(:place as text) is null or i.place = cast(:place as text))
            and (cast(:entity as text) is null or i.entity = cast(:entity as text))
            and (cast(:item as text) is null or i.item = cast(:item as text))
            and (cast(:status as text) is null or i.status = cast(:status as text))
            and (i.scope, i.place, i.entity, i.item) > (:after_scope, :after_place, :after_entity, :after_item)
            and i.status <> 'none'
        order by i.scope, i.place, i.entity, i.item
        limit :limit
    ) page
) weighed
order by scope, place, entity, item
