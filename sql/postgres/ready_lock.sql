-- Locks ready tasks and their top tokens, by id, as many of each queue as are asked for; what others hold
-- is passed over, and the next one is taken instead. Zero rows: nothing is ready and free.
select f.id
from json_to_recordset(:rows) as r(queue text, demand bigint)
cross join lateral (
    select k.id
    from tasks k
    join tokens t on t.token = k.token
    join tokens o on o.token = t.root
    where k.queue = r.queue and k.status = 'queued' and not k.parked
    order by k.id
    limit r.demand
    for no key update of k, o skip locked
) f
