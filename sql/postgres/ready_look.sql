-- Looks at the first ready tasks of each queue, without locks. Zero rows: nothing is ready.
select f.id, r.queue
from json_to_recordset(:rows) as r(queue text, demand bigint)
cross join lateral (
    select k.id from tasks k
    where k.queue = r.queue and k.status = 'queued' and not k.parked
    order by k.id
    limit r.demand
) f
