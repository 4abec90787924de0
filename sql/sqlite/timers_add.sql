-- Adds timers. An id that is taken is an error; it answers no rows.
insert into timers (id, token, state, visit, event, payload, kind, status, parked,
                        set_at, due_at, step)
select r.value ->> 'id', r.value ->> 'token', r.value ->> 'state', r.value ->> 'visit',
       r.value ->> 'event', r.value ->> 'payload', r.value ->> 'kind', r.value ->> 'status',
       r.value ->> 'parked', r.value ->> 'set_at', r.value ->> 'due_at', r.value ->> 'step'
from json_each(:rows) as r where true
