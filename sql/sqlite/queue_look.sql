-- Looks at the first ready tasks of one queue: SQLite has no lateral join, so there is one call for
-- each queue. `size` is that of the task's flow. Zero rows: nothing is ready.
select k.id, coalesce((select f.size from flows f where f.task = k.id), 0) as size
from tasks k
where k.queue = :queue and k.status = 'queued' and not k.parked
order by k.id
limit :demand
