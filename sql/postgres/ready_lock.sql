-- Locks ready tasks and their top tokens, by id: of each place (a set of queues that is asked together) as
-- many as are demanded. What others hold is passed over, and the next one is taken instead; for that a few
-- more are looked at. The top token is locked before its task, so that no lock of a family is kept that was
-- passed over. `size` is about that of its flow. Zero rows: nothing is ready and free.
with asked as materialized (
    select r.place, r.queue, r.demand, r.looked_at
    from json_to_recordset(:rows) as r(place bigint, queue text, demand bigint, looked_at bigint)
), places as materialized (
    select a.place, max(a.demand) as demand from asked a group by a.place
)
select p.place, f.id, coalesce((select w.size from flows w where w.task = f.id), 0) as size
from places p
cross join lateral (
    select l.id
    from (
        select a.queue, q.id
        from asked a
        cross join lateral (
            select q.id from tasks q
            where q.queue = a.queue and q.status = 'queued' and not q.parked
            order by q.id
            limit a.looked_at
        ) q
        where a.place = p.place
        order by q.id
    ) c
    cross join lateral (
        select k.id
        from tasks k
        join tokens t on t.token = k.token
        join tokens o on o.token = t.root
        where k.id = c.id and k.queue = c.queue and k.status = 'queued' and not k.parked
        for no key update of o, k skip locked
    ) l
    limit p.demand
) f
