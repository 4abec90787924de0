-- Looks which of these queues have a ready task, locked or not. A missing row: none is ready there.
select q.queue
from unnest(:queues::text[]) as q(queue)
cross join lateral (
    select 1 from tasks k
    where k.queue = q.queue and k.status = 'queued' and not k.parked
    limit 1
) f
