-- Sets memory keys, new or old. It answers no rows.
insert into memory (token, state, key, value)
select r.token, r.state, r.key, r.value::json
from json_to_recordset(:rows) as r(
        token text, state text, key text, value text)
order by r.token, r.state, r.key
on conflict (token, state, key) do update set value = excluded.value
