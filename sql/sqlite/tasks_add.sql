-- Adds tasks. An id that is taken is an error; it answers no rows.
insert into tasks (id, token, queue, state, visit, status, parked, attempt, failures,
                        claimed_by, lease_until, queued_at)
select r.value ->> 'id', r.value ->> 'token', r.value ->> 'queue', r.value ->> 'state',
       r.value ->> 'visit', r.value ->> 'status', r.value ->> 'parked',
       r.value ->> 'attempt', r.value ->> 'failures', r.value ->> 'claimed_by',
       r.value ->> 'lease_until', r.value ->> 'queued_at'
from json_each(:rows) as r where true
