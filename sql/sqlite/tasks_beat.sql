-- Renews the leases of the tasks that each supervisor holds. Nothing else writes meanwhile, so no row is
-- ever locked, and what was renewed is answered. A missing row: the task is not held.
update tasks as k set lease_until = :leased_until
from (
    select value ->> 'task' as task, value ->> 'supervisor' as supervisor
    from json_each(:rows)
) as a
where k.id = a.task and k.status = 'claimed' and k.claimed_by = a.supervisor and k.lease_until >= :now
  and (select c.epoch from control_plane c) = :epoch
returning id as task, claimed_by as supervisor, true as held, true as renewed
