-- Adds tasks. An id that is taken is an error; it answers no rows.
insert into tasks (id, token, queue, state, visit, status, parked, attempt, failures,
                        claimed_by, lease_until, queued_at)
select r.id, r.token, r.queue, r.state, r.visit, r.status, r.parked, r.attempt,
           r.failures, r.claimed_by, r.lease_until, r.queued_at
from json_to_recordset(:rows) as r(
        id bigint, token text, queue text, state text, visit bigint, status text,
        parked boolean, attempt bigint, failures bigint, claimed_by text,
        lease_until timestamptz, queued_at timestamptz)
order by r.id
