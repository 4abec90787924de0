-- When the next timer is due. Zero rows: none is pending.
select m.due_at
from timers m
where m.status = 'pending' and not m.parked
order by m.due_at
limit 1
