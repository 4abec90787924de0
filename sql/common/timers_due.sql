-- Pending timers of active tokens that are due, the earliest first, each with its token and top token.
-- Zero rows: none.
select m.id, m.token, t.root
from timers m
join tokens t on t.token = m.token
where m.status = 'pending' and not m.parked and m.due_at <= :now
order by m.due_at, m.id
limit :limit
