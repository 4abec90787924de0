-- Parks or unparks the pending timers of tokens whose pause began or ended. It answers no rows.
update timers as k set parked = r.parked
from (
    select value ->> 'token' as token, value ->> 'task' as task, value ->> 'parked' as parked
    from json_each(:rows)
) as r
where k.token = r.token and k.status = 'pending' and k.parked <> r.parked
