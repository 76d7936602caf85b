import React, { useState } from 'react';
import { Button } from './button';

interface Props {
  title: string;
  onClose?: () => void;
}

export function Card({ title, onClose }: Props) {
  const [open, setOpen] = useState<boolean>(false);
  return (
    <section className="card" onClick={() => setOpen(!open)}>
      <Button label={title} onPress={onClose} />
      <ui.Header>{format(title)}</ui.Header>
      {open && <Details<Item> item={item} />}
    </section>
  );
}

export const Page: React.FC<Props> = (props) => <Card {...props} />;
export default React.memo(Page);
