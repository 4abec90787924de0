-- Renews the leases of the tasks that each supervisor holds; a row that another transaction has locked is
-- left alone. `held` tells what was read, `renewed` what was written. One row per asked task; zero rows:
-- another control plane has raised the epoch.
with asked as materialized (
    select * from json_to_recordset(:rows) as r(task bigint, supervisor text)
), locked as materialized (
    select k.id from tasks k
    where k.id = any(array(select a.task from asked a)) and k.status = 'claimed'
      and (select c.epoch from control_plane c) = :epoch
    order by k.id
    for no key update skip locked
), renewed as (
    update tasks k set lease_until = :leased_until
    from asked a
    where k.id = any(array(select l.id from locked l)) and k.id = a.task
      and k.status = 'claimed' and k.claimed_by = a.supervisor and k.lease_until >= :now
    returning k.id, k.claimed_by
)
select a.task, a.supervisor,
       coalesce(k.status = 'claimed' and k.claimed_by = a.supervisor and k.lease_until >= :now, false) as held,
       n.id is not null as renewed
from asked a
left join tasks k on k.id = a.task
left join renewed n on n.id = a.task and n.claimed_by = a.supervisor
where (select c.epoch from control_plane c) = :epoch
