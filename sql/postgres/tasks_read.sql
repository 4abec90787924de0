-- Reads tasks by id, whatever their status. A missing row: there is no such task.
select k.id, k.token, k.queue, k.state, k.visit, k.status, k.attempt, k.failures,
       k.claimed_by, k.lease_until, k.queued_at, k.awaiting::text as awaiting, k.has_items
from tasks k where k.id = any(:tasks::bigint[]) order by k.id
