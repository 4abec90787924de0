-- As items_lock, but waits for who holds them. A missing row: somebody else made the item meanwhile.
-- Data beyond four million characters is left out. What is stored is weighed first: that reads no data.
with looked as materialized (
    select r.scope, r.place, r.entity, r.item, i.status, i.data, i.reason, i.task, i.attempt, i.token, i.seq,
           i.locked_until, i.changed_at, i.expires_at
    from json_to_recordset(:rows) as r(scope smallint, place text, entity text, item text)
    left join lateral (
        select n.status, n.data, n.reason, n.task, n.attempt, n.token, n.seq, n.locked_until,
               n.changed_at, n.expires_at
        from items n
        where n.scope = r.scope and n.place = r.place and n.entity = r.entity and n.item = r.item
        for no key update
    ) i on true
), made as (
    insert into items (scope, place, entity, item, changed_at)
    select l.scope, l.place, l.entity, l.item, 'epoch' from looked l where l.status is null
    on conflict do nothing
    returning scope, place, entity, item
), weighed as (
    select l.*, sum(pg_column_size(l.data)) over (rows unbounded preceding) as stored
    from looked l where l.status is not null
), measured as (
    select w.*, sum(
        case when w.data is null then 0 when w.stored <= 4000000 then length(w.data::text) else 4000001 end
    ) over (rows unbounded preceding) as size
    from weighed w
)
select scope, place, entity, item, status, case when size <= 4000000 then data::text end as data, reason, task, attempt,
       token, seq, locked_until, changed_at, expires_at, data is not null and size > 4000000 as left_out
from measured
union all
select scope, place, entity, item, 'none', null, null, null, null, null, null, null, 'epoch', null, false from made
