-- The last claim of each supervisor that carried a request id. A missing row: there was none.
select c.supervisor, c.request, c.grants::text as grants
from claims c where c.supervisor = any(:supervisors::text[])
