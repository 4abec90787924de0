-- Reads the last changes of an item, the last first, in the columns of an item. Zero rows: nothing is known of it. Data
-- beyond four million characters is left out.
select scope, place, entity, item, status, case when size <= 4000000 then cast(data as text) end as data, reason, task,
       attempt, token, seq, null as locked_until, at as changed_at, null as expires_at,
       data is not null and size > 4000000 as left_out
from (
    select page.*, sum(length(cast(page.data as text))) over (order by page.id desc) as size
    from (
        select * from item_changes i
        where i.scope = :scope and i.place = :place and i.entity = :entity and i.item = :item
        order by i.id desc
        limit :limit
    ) page
) weighed
order by id desc
