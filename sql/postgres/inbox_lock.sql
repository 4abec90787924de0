-- Locks pending rows of the inbox by id, and skips those that others hold.
-- A missing row: it is held elsewhere, or it is settled.
-- The status is no plain column here, so that no index of pending rows fits: planned while it is empty, to walk all of
-- it looks as cheap to Postgres 15 and older as to find the ids.
select i.id
from inbox i
where i.id = any(:inbox::bigint[]) and i.status || '' = 'pending'
order by i.id
for no key update skip locked
