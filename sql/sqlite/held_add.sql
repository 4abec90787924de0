-- Adds held events. An arrival that is taken is an error; it answers no rows.
insert into held (root, arrival, token, event, payload, key, task, state, visit,
                        context, schedules)
select r.value ->> 'root', r.value ->> 'arrival', r.value ->> 'token', r.value ->> 'event',
       r.value ->> 'payload', r.value ->> 'key', r.value ->> 'task', r.value ->> 'state',
       r.value ->> 'visit', r.value ->> 'context', r.value ->> 'schedules'
from json_each(:rows) as r where true
