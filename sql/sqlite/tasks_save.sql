-- Writes tasks. Fewer rows than asked: one is missing, and nothing may be committed.
update tasks as t set
    status = r.status, parked = r.parked, attempt = r.attempt, failures = r.failures,
    claimed_by = r.claimed_by, lease_until = r.lease_until, queued_at = r.queued_at,
    awaiting = r.awaiting, has_items = r.has_items
from (
    select value ->> 'id' as id, value ->> 'status' as status, value ->> 'parked' as parked,
           value ->> 'attempt' as attempt, value ->> 'failures' as failures,
           value ->> 'claimed_by' as claimed_by, value ->> 'lease_until' as lease_until,
           value ->> 'queued_at' as queued_at, value ->> 'awaiting' as awaiting,
           value ->> 'has_items' as has_items
    from json_each(:rows)
) as r
where t.id = r.id
returning 1 as written
