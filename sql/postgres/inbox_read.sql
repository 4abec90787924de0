-- Those of the asked rows of the inbox that are pending, each with the last pending one before it that is about the
-- same token in any case of letters. A missing row: it is settled.
-- The status of the asked ones is no plain column, as in inbox_lock.
select i.id, (
    -- One step back in the index of token and id, the only one that has this order.
    select case when lower(left(e.token, 200)) = lower(left(i.token, 200)) then e.id end
    from inbox e
    where e.status = 'pending' and (lower(left(e.token, 200)), e.id) < (lower(left(i.token, 200)), i.id)
    order by lower(left(e.token, 200)) desc, e.id desc
    limit 1
) as before
from inbox i
where i.id = any(:inbox::bigint[]) and i.status || '' = 'pending'
