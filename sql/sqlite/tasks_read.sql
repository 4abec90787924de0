-- Reads tasks by id, whatever their status; the ids come as a JSON list. A missing row: no such task.
select k.id, k.token, k.queue, k.state, k.visit, k.status, k.attempt, k.failures,
       k.claimed_by, k.lease_until, k.queued_at, k.awaiting, k.has_items
from tasks k where k.id in (select value from json_each(:tasks)) order by k.id
