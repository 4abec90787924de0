-- Reads items by their keys, in the order of the rows. A missing row: nobody knows it. Data beyond four million characters
-- is left out.
with found as (
    select i.*, r.key as nth
    from json_each(:rows) as r
    cross join items i on i.scope = r.value ->> 'scope' and i.place = r.value ->> 'place'
        and i.entity = r.value ->> 'entity' and i.item = r.value ->> 'item'
), measured as (
    select f.*, coalesce(sum(length(f.data)) over (order by f.nth), 0) as size from found f
)
select scope, place, entity, item, status, case when size <= 4000000 then data end as data, reason, task, attempt, token,
       seq, locked_until, changed_at, expires_at, data is not null and size > 4000000 as left_out
from measured
order by nth
