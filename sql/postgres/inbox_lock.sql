-- Locks pending rows of the inbox by id, and skips those that others hold.
-- A missing row: it is held elsewhere, or it is settled.
select i.id
from inbox i
where i.id = any(:inbox::bigint[]) and i.status = 'pending'
order by i.id
for no key update skip locked
