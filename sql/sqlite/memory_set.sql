-- Sets memory keys, new or old. It answers no rows.
insert into memory (token, state, key, value)
select r.value ->> 'token', r.value ->> 'state', r.value ->> 'key', r.value ->> 'value'
from json_each(:rows) as r where true
on conflict (token, state, key) do update set value = excluded.value
