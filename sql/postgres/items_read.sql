-- Reads items by their keys, in the order of the rows. A missing row: nobody knows it. Data beyond four million characters
-- is left out. What is stored is weighed first: that reads no data.
with found as (
    select r.at, i.*
    from rows from (json_to_recordset(:rows) as (scope smallint, place text, entity text, item text))
        with ordinality as r(scope, place, entity, item, at)
    cross join lateral (
        select n.scope, n.place, n.entity, n.item, n.status, n.data, n.reason, n.task, n.attempt, n.token, n.seq,
               n.locked_until, n.changed_at, n.expires_at
        from items n
        where n.scope = r.scope and n.place = r.place and n.entity = r.entity and n.item = r.item and n.status <> 'none'
        limit 1
    ) i
), weighed as (
    select f.*, sum(pg_column_size(f.data)) over (order by f.at) as stored from found f
), measured as (
    select w.*, sum(
        case when w.data is null then 0 when w.stored <= 4000000 then length(w.data::text) else 4000001 end
    ) over (order by w.at) as size
    from weighed w
)
select scope, place, entity, item, status, case when size <= 4000000 then data::text end as data, reason, task, attempt,
       token, seq, locked_until, changed_at, expires_at, data is not null and size > 4000000 as left_out
from measured
order by at
