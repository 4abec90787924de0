-- Parks or unparks the queued tasks of tokens whose pause began or ended. It answers no rows.
update tasks as k set parked = r.parked
from (
    select value ->> 'token' as token, value ->> 'task' as task, value ->> 'parked' as parked
    from json_each(:rows)
) as r
where k.id = r.task and k.status = 'queued' and k.parked <> r.parked
