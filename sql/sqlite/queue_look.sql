-- Looks at the first ready tasks of one queue: SQLite has no lateral join, so there is one call for
-- each queue. Zero rows: nothing is ready.
select k.id from tasks k
where k.queue = :queue and k.status = 'queued' and not k.parked
order by k.id
limit :demand
