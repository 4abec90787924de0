-- Keeps the last claim of each supervisor that carried a request id. It answers no rows.
insert into claims (supervisor, request, grants)
select r.value ->> 'supervisor', r.value ->> 'request', r.value ->> 'grants'
from json_each(:rows) as r where true
on conflict (supervisor) do update set request = excluded.request, grants = excluded.grants
