-- Those of the asked rows of the inbox that are pending, each with the last pending one before it that is about the
-- same token in any case of letters. A missing row: it is settled.
select i.id, (
    select max(e.id)
    from inbox e
    where e.status = 'pending' and lower(left(e.token, 200)) = lower(left(i.token, 200)) and e.id < i.id
) as before
from inbox i
where i.id = any(:inbox::bigint[]) and i.status = 'pending'
