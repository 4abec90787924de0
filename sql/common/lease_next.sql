-- When the first of all leases ends; null if no task is claimed. Always one row.
select min(k.lease_until) as lease_until from tasks k where k.status = 'claimed'
