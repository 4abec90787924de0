-- Locks task rows by id, and skips those that others hold, and those whose top token others hold: no lock is
-- taken of a family that is passed over, or two batches that each got what the other passed over would wait
-- for each other. So the top token comes first; mostly families_lock has locked it already.
-- A missing row: the row or its family is held elsewhere, or there is no such task.
select k.id
from tasks k
join tokens t on t.token = k.token
join tokens o on o.token = t.root
where k.id = any(:tasks::bigint[])
order by k.id
for no key update of o, k skip locked
