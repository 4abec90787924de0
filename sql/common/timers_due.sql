-- Pending timers of active tokens that are due, the earliest first. Zero rows: none.
select m.id, m.token from timers m
where m.status = 'pending' and not m.parked and m.due_at <= :now
order by m.due_at, m.id
limit :limit
