-- Raises the epoch: whoever still writes with the old one is refused from now on. Always one row.
update control_plane set epoch = epoch + 1 returning epoch
